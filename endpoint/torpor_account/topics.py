"""Publishes messages to SNS topics, which moto keeps."""

from urllib.parse import urlencode

from torpor_account.aws.calls import Otherwise, Unanswered
from torpor_account.aws.wire.asgi import AwsRequest
from torpor_container.frozen_class import frozen

SNS_VERSION = "2010-03-31"
SUBJECT_MAX = 100


class NotPublished(Exception):
    """SNS refused the message. The text has its answer."""


@frozen
class Topics:
    """`sns` answers SNS's Publish."""

    sns: Otherwise

    async def publish(self, topic: str, message: str, subject: str = "") -> None:
        """Publish a message to the topic of this ARN. Raises NotPublished."""
        form = {"Action": "Publish", "Version": SNS_VERSION, "TopicArn": topic, "Message": message}
        if subject:
            form["Subject"] = subject[:SUBJECT_MAX]
        headers = {"content-type": "application/x-www-form-urlencoded", "authorization": _signed(topic)}
        try:
            answer = await self.sns("sns", "Publish", AwsRequest("POST", "/", headers, "", urlencode(form).encode()))
        except Unanswered as error:
            raise NotPublished(str(error)) from error
        if answer.status != 200:
            raise NotPublished(f"SNS answered {answer.status}: {told(answer.body)}")


def told(body: bytes) -> str:
    """The code and the message of an error of SNS; the beginning of an answer that has none, in one line."""
    from xml.etree import ElementTree

    try:
        said = {part.tag.rpartition("}")[2]: part.text or "" for part in ElementTree.fromstring(body).iter()}
    except ElementTree.ParseError:
        said = {}
    if "Code" in said and "Message" in said:
        return f"{said['Message']} ({said['Code']})"
    return " ".join(body[:300].decode(errors="replace").split())


def _signed(topic: str) -> str:
    """A signature for the topic's own region, which its scope names."""
    return f"AWS4-HMAC-SHA256 Credential=torpor/19700101/{topic.split(':')[3]}/sns/aws4_request"
