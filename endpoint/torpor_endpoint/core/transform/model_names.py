"""Says what may be the name of a model that a record or a manifest gives: it becomes a header of a request.

AWS, TargetModelHeader: length 1 to 1024, pattern `\\A\\S[\\p{Print}]*\\z`.
"""

LENGTH_MAX = 1024


def is_name(text: str) -> bool:
    return 0 < len(text) <= LENGTH_MAX and text.isprintable() and not text[0].isspace()
