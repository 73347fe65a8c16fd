"""Finds the model that a body of OpenAI's API names, and reads nothing else of it: the body goes on as it came.

msgspec walks over what nobody wants to know without a value made of it, and checks on its way that the body is JSON:
6 MiB take some 10 ms. It would take the last of two members of one name, so that the models of a face and of its
container might differ: a second walk counts them.
"""

import msgspec


class BadBody(ValueError):
    """No model can be read. The text says why; `member` is the member at fault, if it is one."""

    def __init__(self, text: str, member: str | None = None) -> None:
        super().__init__(text)
        self.member = member


class _Naming(msgspec.Struct):
    model: str


class _Occurrence:
    """One member `model`."""


class _Counting(msgspec.Struct):
    model: _Occurrence


class _NamedTwice(ValueError):
    """The member is there twice."""


_NAMING = msgspec.json.Decoder(_Naming)


def model_of(body: bytes) -> str:
    """The model's name. Raises BadBody."""
    try:
        model = _NAMING.decode(body).model
        _check_once(body)
    except msgspec.ValidationError as error:
        raise _invalid(error) from None
    except msgspec.DecodeError as error:
        raise BadBody(f"The body is not JSON: {error}.") from None
    except RecursionError:
        raise BadBody("The body is nested too deeply.") from None
    if not model:
        raise BadBody("model is empty: name a model of the endpoint.", "model")
    return model


def _check_once(body: bytes) -> None:
    """Raises ValidationError for a second member `model`, however it is written."""
    seen: list[object] = []

    def occurred(kind: type, value: object) -> _Occurrence:
        seen.append(value)
        if len(seen) > 1:
            raise _NamedTwice
        return _Occurrence()

    msgspec.json.decode(body, type=_Counting, dec_hook=occurred)


def _invalid(error: msgspec.ValidationError) -> BadBody:
    if isinstance(error.__cause__, _NamedTwice):
        return BadBody("The body has more than one member model: which is meant is not clear.", "model")
    if "$.model" in str(error):
        return BadBody("model is the name of a model, as text.", "model")
    if "`model`" in str(error):
        return BadBody("The body has no member model: name a model of the endpoint.", "model")
    return BadBody("The body is a JSON object with the member model.")
