"""Uploads objects by HTML forms, which browsers send and `generate_presigned_post` signs.

https://docs.aws.amazon.com/AmazonS3/latest/API/RESTObjectPOST.html
"""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final
from urllib.parse import quote, urlencode, urlsplit, urlunsplit

from torpor_account.s3.bucket_names import ObjectAddress, fitting
from torpor_account.s3.call import S3Call
from torpor_account.s3.errors import Refusal, S3Error
from torpor_account.s3.operation_rights import check_access
from torpor_account.s3.operations.object_operations import document_tags
from torpor_account.s3.storage.entries import ObjectEntry, ObjectName, ObjectTraits
from torpor_account.s3.storage.objects import Draft
from torpor_account.s3.storage.staging import Staged
from torpor_account.s3.wire.forms import FormDecoder
from torpor_account.s3.wire.headers import TAGGING, checksum_headers, encryption_headers, traits
from torpor_account.s3.wire.http_exchange import S3Answer, taken_in
from torpor_account.s3.wire.intake import Intake, promised, summed
from torpor_account.s3.wire.post_policy import UploadSizes, allowed
from torpor_account.s3.wire.xml_elements import document, text

_FILENAME: Final = "${filename}"


@dataclass(frozen=True)
class _Form:
    """A form without its file. `fields` are by lower-case name; `headers` are the fields in the form of headers."""

    name: ObjectName
    fields: Mapping[str, str]
    headers: Mapping[str, str]
    traits: ObjectTraits
    sizes: UploadSizes


async def post_object(call: S3Call) -> S3Answer:
    await asyncio.to_thread(call.store.buckets.get, call.bucket)
    async with call.store.staging.receiving() as staged:
        posted = _Posted(call, staged)
        return await taken_in(call.request.body, posted, posted.answer)


class _Posted:
    """A form while it arrives. It is checked as soon as its file begins, before a large file is received."""

    def __init__(self, call: S3Call, staged: Staged) -> None:
        self._call = call
        self._staged = staged
        self._decoder = FormDecoder(call.headers.get("content-type", ""))
        self._begun: tuple[_Form, Intake] | None = None

    def feed(self, piece: bytes) -> None:
        payload = self._decoder.feed(piece)
        if self._decoder.filename is not None:
            self._intake(self._decoder.filename).feed(payload)

    def _intake(self, filename: str) -> Intake:
        if self._begun is None:
            form = _form(self._call, self._decoder.fields, filename)
            self._begun = form, Intake(summed(promised(form.headers)), self._staged, form.sizes.most)
        return self._begun[1]

    def answer(self) -> S3Answer:
        """Store the object, after the end of the body."""
        self._decoder.finish()
        assert self._begun is not None  # a form whose file has begun
        form, intake = self._begun
        receipt = intake.finish()
        form.sizes.check(receipt.size_bytes)
        draft = Draft(self._staged, receipt.etag, replace(form.traits, checksum=receipt.checksum))
        return _answer(self._call, form, self._call.store.objects.put(form.name, draft))


def _form(call: S3Call, given: Mapping[str, str], filename: str) -> _Form:
    """AWS: "All variables within the form are expanded prior to validating the POST policy"."""
    fields = {**given, "key": _key(given, filename)}
    _check_sender(call, fields)
    sizes = allowed(call.bucket, fields, call.store.clock())
    headers = {name: value.strip().encode().decode("latin-1") for name, value in fields.items()}
    described = traits(headers)
    if "tagging" in fields:
        described = replace(described, tags=document_tags(fields["tagging"].encode()))
    of_the_body = {name: value for name, value in headers.items() if name != "content-length"}
    return _Form(ObjectName(call.bucket, fields["key"]), fields, of_the_body, described, sizes)


def _check_sender(call: S3Call, fields: Mapping[str, str]) -> None:
    """Raises S3Error if the form's signer may not put this object. Without verified callers everybody may."""
    request = call.request
    access = request.access if request.signer_of is None else request.signer_of(fields)
    if access is None:
        return
    headers = _as_headers(fields)
    put = replace(request, address=ObjectAddress(call.bucket, fields["key"]), headers=headers)
    check_access(access, "PostObject", put, call.store)


def _as_headers(fields: Mapping[str, str]) -> dict[str, str]:
    """The fields as the headers of a PUT: a policy sees these, and none of the form's own request."""
    headers = {name: value for name, value in fields.items() if name not in ("tagging", "acl")}
    if "acl" in fields:
        headers["x-amz-acl"] = fields["acl"]
    if "tagging" in fields:
        headers[TAGGING] = urlencode(document_tags(fields["tagging"].encode()))
    return headers


def _key(given: Mapping[str, str], filename: str) -> str:
    """AWS: of a file with a path, "only the text following the last slash (/) or backslash (\\) will be used"."""
    if "key" not in given:
        text = (
            "Bucket POST must contain a field named 'key'.  If it is specified, please check the order of the fields."
        )
        raise S3Error(Refusal.InvalidArgument, text, ArgumentName="key")
    key = given["key"].replace(_FILENAME, filename.replace("\\", "/").rpartition("/")[2])
    if not key:
        text = "User key must have a length greater than 0."
        raise S3Error(Refusal.InvalidArgument, text, ArgumentName="key", ArgumentValue="")
    return fitting(key)


def _answer(call: S3Call, form: _Form, entry: ObjectEntry) -> S3Answer:
    """AWS: "If the value is not set or is set to an invalid value, Amazon S3 returns an empty document with a 204
    status code"; a redirection that "cannot be interpreted" is taken for none."""
    etag = f'"{entry.etag}"'
    location = f"{call.request.url.rstrip('/')}/{quote(entry.key)}"
    headers = {"etag": etag, "location": location, **checksum_headers(entry)}
    headers |= encryption_headers(entry.traits.headers)
    redirection = _redirection(form.fields.get("success_action_redirect", form.fields.get("redirect", "")), entry)
    if redirection is not None:
        return S3Answer(303, {**headers, "location": redirection})
    match form.fields.get("success_action_status"):
        case "201":
            names = text("Location", location), text("Bucket", entry.name.bucket), text("Key", entry.key)
            body = document("PostResponse", *names, text("ETag", etag), namespace=None)
            return S3Answer(201, {**headers, "content-type": "application/xml"}, body)
        case "200":
            return S3Answer(200, headers)
    return S3Answer(204, headers)


def _redirection(redirection: str, entry: ObjectEntry) -> str | None:
    """AWS: "Amazon S3 appends the bucket, key, and etag values as query string parameters to the URL"."""
    try:
        url = urlsplit(redirection)
    except ValueError:
        return None
    if (
        url.scheme not in ("http", "https")
        or not url.netloc
        or not (redirection.isascii() and redirection.isprintable())
    ):
        return None
    parameters = urlencode({"bucket": entry.name.bucket, "key": entry.key, "etag": f'"{entry.etag}"'}, quote_via=quote)
    return urlunsplit(url._replace(query=f"{url.query}&{parameters}" if url.query else parameters))
