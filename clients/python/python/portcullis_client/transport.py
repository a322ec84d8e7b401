"""Transports of httpx2, or of httpx where there is no httpx2, that hand on nothing but proven answers."""

import json
import secrets

try:
    import httpx2 as httpx
except ModuleNotFoundError:
    import httpx

from ._native import Expectations, Question

# Head fields that say something about the body as it was sent.
_OF_THE_BODY = {"content-length", "content-encoding", "content-type", "transfer-encoding"}


class _Checking:
    def __init__(self, expected: Expectations, transport):
        self._expected = expected
        self._transport = transport

    def _prepare(self, request: httpx.Request):
        """The request as it is sent, and the question that its answer is checked against."""
        if request.method != "POST":
            return request, None
        question = Question.of(request.url.path, request.content, secrets.token_hex(16))
        if question is None:
            return request, None
        head = [(name, value) for name, value in request.headers.raw if name.lower() not in (b"content-length", b"transfer-encoding")]
        sent = httpx.Request(request.method, request.url, headers=head, content=question.body, extensions=request.extensions)
        return sent, question

    def _finish(self, request: httpx.Request, response: httpx.Response, body: bytes, question):
        """The response as the caller sees it."""
        head = [(name, value) for name, value in response.headers.items() if name.lower() not in _OF_THE_BODY]
        if response.status_code == 200:
            kind, body, _ = question.check(body, self._expected)
        else:
            kind, body = "application/json", _error(response.status_code, body)
        head += [("content-type", kind), ("content-length", str(len(body)))]
        return httpx.Response(response.status_code, headers=head, content=body, request=request)


def _error(status: int, body: bytes) -> bytes:
    """An error in words of this package: what stands in an error was judged by no gate."""
    try:
        code = json.loads(body)["error"].get("code")
    except (ValueError, KeyError, TypeError, AttributeError):
        code = None
    known = {"content_filter", "invalid_api_key", "invalid_request", "model_not_found", "request_too_large", "unavailable"}
    code = code if code in known else "error"
    message = "the gateway refused the request" if status < 500 else "the gateway has no answer"
    error = {"message": f"{message} ({status}, {code})", "type": code, "code": code, "param": None}
    return json.dumps({"type": "error", "error": error}).encode()


class CheckingTransport(_Checking, httpx.BaseTransport):
    """Sends requests through `transport`, and waits for the proof of each answer before any of it is seen."""

    def __init__(self, expected: Expectations, transport: httpx.BaseTransport | None = None):
        super().__init__(expected, transport or httpx.HTTPTransport())

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        request.read()
        sent, question = self._prepare(request)
        response = self._transport.handle_request(sent)
        if question is None:
            return response
        try:
            body = response.read()
        finally:
            response.close()
        return self._finish(request, response, body, question)

    def close(self) -> None:
        self._transport.close()


class AsyncCheckingTransport(_Checking, httpx.AsyncBaseTransport):
    """The same for asynchronous clients."""

    def __init__(self, expected: Expectations, transport: httpx.AsyncBaseTransport | None = None):
        super().__init__(expected, transport or httpx.AsyncHTTPTransport())

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        await request.aread()
        sent, question = self._prepare(request)
        response = await self._transport.handle_async_request(sent)
        if question is None:
            return response
        try:
            body = await response.aread()
        finally:
            await response.aclose()
        return self._finish(request, response, body, question)

    async def aclose(self) -> None:
        await self._transport.aclose()
