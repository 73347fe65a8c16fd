"""Kills processes at random, and keeps a subscriber to the endpoint's topic, which is in the memory of the worker."""

import json
import threading
import time
from collections import Counter
from random import Random
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from benchmarks.interrupted.stand import Stand

TOPIC = "ends"


class Killer:
    """Kills something every few seconds, until it is stopped."""

    def __init__(self, stand: Stand, random: Random, every_s: tuple[float, float]) -> None:
        self._stand = stand
        self._random = random
        self._every_s = every_s
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self.done: Counter[str] = Counter()
        self.at_s: list[float] = []
        """Epoch seconds of the kills of a worker."""

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Let the endpoint run from now on."""
        self._over.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._over.wait(self._random.uniform(*self._every_s)):
            kind = self._random.choice(["endpoint", "worker", "instance", "instance", "zygote"])
            if kind == "instance":
                self.done["instances"] += self._stand.kill_instance()
            elif kind == "zygote":
                self.done["zygotes"] += self._stand.kill_zygote()
            else:
                self.at_s.append(time.time())
                self.done[f"{kind}s"] += 1
                if kind == "worker":
                    self._stand.kill_worker()
                else:
                    self._stand.kill_endpoint()
                    time.sleep(self._random.uniform(0.0, 1.0))
                    self._stand.start()


class Subscriber:
    """Reads what the topic says, and subscribes again when a new worker knows nothing of it."""

    def __init__(self, stand: Stand) -> None:
        self._sns, self._sqs = stand.client("sns"), stand.client("sqs")
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._queue = ""
        self.heard: Counter[str] = Counter()
        """How often a message of each request's end came, by its id."""
        self.topic = ""
        self._subscribe()

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._over.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._over.is_set():
            try:
                messages = self._sqs.receive_message(QueueUrl=self._queue, MaxNumberOfMessages=10).get("Messages", ())
            except (BotoCoreError, ClientError):
                self._subscribe_again()
                continue
            for message in messages:
                self._read(message)
            if not messages:
                time.sleep(0.05)

    def _read(self, message: dict[str, Any]) -> None:
        notice = json.loads(json.loads(message["Body"])["Message"])
        if "inferenceId" in notice:
            self.heard[notice["inferenceId"]] += 1
        try:
            self._sqs.delete_message(QueueUrl=self._queue, ReceiptHandle=message["ReceiptHandle"])
        except (BotoCoreError, ClientError):
            return  # it comes twice

    def _subscribe_again(self) -> None:
        try:
            self._subscribe()
        except (BotoCoreError, ClientError):
            time.sleep(0.1)

    def _subscribe(self) -> None:
        self._queue = self._sqs.create_queue(QueueName=TOPIC)["QueueUrl"]
        found = self._sqs.get_queue_attributes(QueueUrl=self._queue, AttributeNames=["QueueArn"])["Attributes"]
        self.topic = self._sns.create_topic(Name=TOPIC)["TopicArn"]
        self._sns.subscribe(TopicArn=self.topic, Protocol="sqs", Endpoint=found["QueueArn"])
