"""Shows only what a Portcullis gate admitted.

Any client that is built over httpx2 takes the transport, the official ones of OpenAI and Anthropic too; older ones are built over httpx::

    import httpx2, openai
    from portcullis_client import CheckingTransport, Expectations

    expected = Expectations("trust", constants=["\\n[This answer was ended by policy.]"])
    client = openai.OpenAI(
        base_url="http://127.0.0.1:8080/v1",
        api_key="any",
        http_client=httpx2.Client(transport=CheckingTransport(expected)),
    )

An answer of which a sentence was dropped, reordered, taken from another answer, or not admitted raises `NotProven`. A client that retries
on connection errors does not retry on it. Whom to believe comes from the folder `trust`, never from the gateway.
"""

from ._native import Expectations, NotProven, Question
from .transport import AsyncCheckingTransport, CheckingTransport

__all__ = ["AsyncCheckingTransport", "CheckingTransport", "Expectations", "NotProven", "Question"]
