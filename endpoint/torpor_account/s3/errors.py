"""Lists every error of the object store in one table, from S3's code to the status and text, and writes it as XML."""

from enum import Enum, unique

from torpor_account.s3.wire.xml_elements import document, text


@unique
class Refusal(Enum):
    """S3's errors: the name of a member is the code on the wire, and its value is the status and the text."""

    AccessDenied = (403, "Access Denied")
    AccessForbidden = (403, "CORSResponse: CORS is not enabled for this bucket.")
    AuthorizationHeaderMalformed = (400, "The authorization header that you provided is not valid.")
    AuthorizationQueryParametersError = (400, "Query-string authentication parameters are not valid.")
    BadDigest = (400, "The Content-MD5 or checksum value that you specified did not match what the server received.")
    BadRequest = (400, "An error occurred when parsing the HTTP request.")
    BucketAlreadyExists = (409, "The requested bucket name is not available.")
    BucketAlreadyOwnedByYou = (
        409,
        "Your previous request to create the named bucket succeeded and you already own it.",
    )
    BucketNotEmpty = (409, "The bucket you tried to delete is not empty")
    EntityTooLarge = (400, "Your proposed upload exceeds the maximum allowed size")
    EntityTooSmall = (400, "Your proposed upload is smaller than the minimum allowed size")
    ExpiredToken = (400, "The provided token has expired.")
    IncompleteBody = (400, "You did not provide the number of bytes specified by the Content-Length HTTP header")
    # A full disk. It is a 4xx because clients retry a 5xx for minutes, and waiting frees no disk.
    InsufficientStorage = (413, "The disk behind this object store is full. Nothing was stored.")
    InternalError = (500, "We encountered an internal error. Please try again.")
    InvalidAccessKeyId = (403, "The AWS Access Key Id you provided does not exist in our records.")
    InvalidArgument = (400, "Invalid Argument")
    InvalidBucketName = (400, "The specified bucket is not valid.")
    InvalidDigest = (400, "The Content-MD5 you specified was invalid.")
    InvalidEncryptionAlgorithmError = (400, "The encryption request that you specified is not valid.")
    InvalidLocationConstraint = (400, "The specified location-constraint is not valid")
    InvalidPart = (
        400,
        "One or more of the specified parts could not be found.  The part may not have been uploaded, or the specified "
        "entity tag may not match the part's entity tag.",
    )
    InvalidPartNumber = (416, "The requested partnumber is not satisfiable")
    InvalidPartOrder = (400, "The list of parts was not in ascending order. Parts must be ordered by part number.")
    InvalidPolicyDocument = (
        400,
        "The content of the form does not meet the conditions specified in the policy document.",
    )
    InvalidRange = (416, "The requested range is not satisfiable")
    InvalidRequest = (400, "The request is not valid.")
    InvalidStorageClass = (400, "The storage class you specified is not valid")
    InvalidTag = (400, "The tag provided was not a valid tag.")
    InvalidToken = (400, "The provided token is malformed or otherwise invalid.")
    InvalidURI = (400, "Couldn't parse the specified URI.")
    KeyTooLongError = (400, "Your key is too long")
    MalformedPOSTRequest = (400, "The body of your POST request is not well-formed multipart/form-data.")
    MalformedPolicy = (400, "Policies must be valid JSON and the first byte must be '{'")
    MalformedTrailerError = (
        400,
        "The request contained trailing data that was not well-formed or did not conform to our published schema.",
    )
    MalformedXML = (
        400,
        "The XML you provided was not well-formed or did not validate against our published schema",
    )
    MaxPostPreDataLengthExceeded = (400, "Your POST request fields preceding the upload file were too large.")
    MetadataTooLarge = (400, "Your metadata headers exceed the maximum allowed metadata size")
    MethodNotAllowed = (405, "The specified method is not allowed against this resource.")
    MissingContentLength = (411, "You must provide the Content-Length HTTP header.")
    NoSuchBucket = (404, "The specified bucket does not exist")
    NoSuchBucketPolicy = (404, "The bucket policy does not exist")
    NoSuchCORSConfiguration = (404, "The CORS configuration does not exist")
    NoSuchKey = (404, "The specified key does not exist.")
    NoSuchLifecycleConfiguration = (404, "The lifecycle configuration does not exist")
    NoSuchPublicAccessBlockConfiguration = (404, "The public access block configuration was not found")
    NoSuchTagSet = (404, "The TagSet does not exist")
    NoSuchUpload = (
        404,
        "The specified upload does not exist. The upload ID may be invalid, or the upload may have been aborted or "
        "completed.",
    )
    NoSuchVersion = (404, "The specified version does not exist.")
    NoSuchWebsiteConfiguration = (404, "The specified bucket does not have a website configuration")
    # S3 has 501 here. It is a 4xx, as for every operation that Torpor lacks, because some clients retry each 5xx.
    NotImplemented = (400, "A header or query you provided implies functionality that is not implemented")
    ObjectLockConfigurationNotFoundError = (404, "Object Lock configuration does not exist for this bucket")
    OwnershipControlsNotFoundError = (404, "The bucket ownership controls were not found")
    PreconditionFailed = (412, "At least one of the pre-conditions you specified did not hold")
    ReplicationConfigurationNotFoundError = (404, "The replication configuration was not found")
    RequestTimeout = (
        400,
        "Your socket connection to the server was not read from or written to within the timeout period. Idle "
        "connections will be closed.",
    )
    RequestTimeTooSkewed = (403, "The difference between the request time and the current time is too large.")
    ServerSideEncryptionConfigurationNotFoundError = (404, "The server side encryption configuration was not found")
    SignatureDoesNotMatch = (
        403,
        "The request signature we calculated does not match the signature you provided. Check your key and signing "
        "method.",
    )
    SlowDown = (503, "Please reduce your request rate.")
    XAmzContentSHA256Mismatch = (400, "The provided 'x-amz-content-sha256' header does not match what was computed.")

    @property
    def status(self) -> int:
        return self.value[0]

    @property
    def text(self) -> str:
        return self.value[1]


class S3Error(Exception):
    """A refusal. `message` replaces its text; `elements` are those that S3 adds (`Key`, `BucketName`, ...)."""

    def __init__(self, refusal: Refusal, message: str | None = None, /, **elements: str) -> None:
        super().__init__(message or refusal.text)
        self.refusal = refusal
        self.elements = elements

    @property
    def status(self) -> int:
        return self.refusal.status

    def body(self, request_id: str | None = None, resource: str | None = None) -> bytes:
        """The error as an XML document. AWS: `Resource` is "the bucket or object that is involved in the error"."""
        elements = [text(name, value) for name, value in self.elements.items()]
        heading = (text("Code", self.refusal.name), text("Message", str(self)))
        ending = (text("Resource", resource), text("RequestId", request_id), text("HostId", request_id))
        return document("Error", *heading, *elements, *ending, namespace=None)


class ClientGone(Exception):
    """The caller closed the connection before the end of its body, so the answer has no receiver."""
