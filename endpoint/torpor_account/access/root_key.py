"""Keeps the credential of the account's root in the data folder, in the form of AWS's own credentials file."""

import configparser
import io
import json
import os
from pathlib import Path

from torpor_account.iam.identities.ids import KeyPair, new_pair
from torpor_account.storage.databases.database import Database
from torpor_account.storage.private import write_private
from torpor_account.storage.shared_secrets import shared_secret
from torpor_container.typed_json import read

SECTION, KEY, SECRET = "default", "aws_access_key_id", "aws_secret_access_key"
MODE = 0o600


class BadCredentials(Exception):
    """The file of the root credential cannot be read."""


def root_pair(path: Path, database: Database | None = None) -> KeyPair:
    """The root's access key. The first call makes it. A database that is given has it for all machines; the file has it
    for the programs of this one. Raises BadCredentials, DatabaseFault."""
    kept = kept_pair(path)
    pair = kept or new_pair()
    if database is not None:
        first = pair
        pair = read(KeyPair, json.loads(shared_secret(database, "root", lambda: json.dumps(first))))
    if pair != kept:
        _write(path, pair)
    return pair


def kept_pair(path: Path) -> KeyPair | None:
    """The root's access key; None if there is none yet. Raises BadCredentials."""
    parser = configparser.ConfigParser(interpolation=None)
    try:
        with path.open() as file:
            if os.fstat(file.fileno()).st_mode & 0o077:
                os.fchmod(file.fileno(), MODE)
            parser.read_file(file)
        return KeyPair(parser[SECTION][KEY], parser[SECTION][SECRET])
    except FileNotFoundError:
        return None
    except (configparser.Error, KeyError, UnicodeDecodeError, PermissionError) as error:
        text = (
            f"{path} has no root credential ({error}): restore it, or delete it so that the next start makes a new one"
        )
        raise BadCredentials(text) from error


def _write(path: Path, pair: KeyPair) -> None:
    parser = configparser.ConfigParser(interpolation=None)
    parser[SECTION] = {KEY: pair.access_key, SECRET: pair.secret}
    text = io.StringIO()
    parser.write(text)
    write_private(path, text.getvalue().encode())
