"""A small client of the lab's API server, for those of its parts that play a node or an operator.

JSON over a connection per request, made inside the control plane's network namespace.
"""

import http.client
import json
import socket
import ssl

import hosts


class Refused(Exception):
    """The server's answer was an error."""

    def __init__(self, status, message, body=b""):
        super().__init__(f"HTTP status {status}: {message}")
        self.status = status
        self.body = body


# What a server that is away, stands still or has just come back may do to a connection.
AWAY = (OSError, http.client.HTTPException)


class _Connection(http.client.HTTPSConnection):
    def __init__(self, netns, address, port, context, timeout):
        super().__init__(address, port, timeout=timeout, context=context)
        self._netns = netns
        self._context_of_tls = context

    def connect(self):
        where, timeout = (self.host, self.port), self.timeout
        plain = hosts.in_netns(self._netns, lambda: socket.create_connection(where, timeout))
        try:
            self.sock = self._context_of_tls.wrap_socket(plain, server_hostname=self.host)
        except BaseException:
            plain.close()
            raise


class Api:
    """Thread-safe."""

    def __init__(self, netns, address, port):
        self._where = (netns, address, port)
        self._context = None

    def trust(self, ca, certificate, key):
        """From now on: the server's CA, and who asks."""
        context = ssl.create_default_context(cafile=ca)
        context.load_cert_chain(certificate, key)
        self._context = context

    def request(self, method, path, body=None, kind="application/json", timeout=10.0):
        connection = _Connection(*self._where, self._context, timeout)
        try:
            data = None if body is None else json.dumps(body)
            connection.request(method, path, data, {"Content-Type": kind} if data else {})
            answer = connection.getresponse()
            text = answer.read()
        finally:
            connection.close()
        return _object_of(answer.status, text)

    def raw(self, path, media_type, timeout=60.0):
        """The bytes of the answer, whatever they are."""
        connection = _Connection(*self._where, self._context, timeout)
        try:
            connection.request("GET", path, headers={"Accept": media_type})
            answer = connection.getresponse()
            body = answer.read()
        finally:
            connection.close()
        if answer.status != 200:
            raise Refused(answer.status, "", body)
        return body

    def get(self, path, **options):
        return self.request("GET", path, **options)

    def create(self, path, body):
        return self.request("POST", path, body)

    def patch(self, path, body):
        return self.request("PATCH", path, body, "application/merge-patch+json")

    def is_ready(self):
        try:
            self.request("GET", "/readyz", timeout=2.0)
        except (Refused, *AWAY):
            return False
        return True

    def watch(self, path, version, silence=5.0):
        """The events after `version`; a TimeoutError when none has come for `silence` seconds."""
        connection = _Connection(*self._where, self._context, silence)
        try:
            query = f"?watch=1&resourceVersion={version}&timeoutSeconds=300"
            connection.request("GET", path + query)
            with connection.getresponse() as answer:
                if answer.status != 200:
                    _object_of(answer.status, answer.read())
                while line := answer.readline():
                    event = json.loads(line)
                    if event["type"] == "ERROR":
                        status = event["object"]
                        raise Refused(status.get("code", 500), status.get("message", ""))
                    yield event
        finally:
            connection.close()


def _object_of(status, text):
    try:
        value = json.loads(text)
    except ValueError:
        value = {"message": text.decode(errors="replace")}
    if status >= 300:
        message = value.get("message", "") if isinstance(value, dict) else str(value)
        raise Refused(status, message)
    return value
