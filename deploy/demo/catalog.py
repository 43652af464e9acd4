"""The server in each pod: HTTP, TLS and a health port. Runs as a program of its own.

Every answer names the workload that gave it, so that a caller notices when the wrong one answers.
HTTP connections are closed after each answer, as many frameworks do: each request is a connect.

Usage: catalog.py WORKLOAD HTTP_PORT TLS_PORT HEALTH_PORT CERTIFICATE KEY
"""

import os
import signal
import socket
import ssl
import sys
import threading


def _answer(body):
    return (
        f"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: {len(body)}\r\n"
        f"connection: close\r\n\r\n{body}"
    ).encode()


def _read_head(connection):
    head = b""
    while b"\r\n\r\n" not in head:
        part = connection.recv(4096)
        if not part:
            return False
        head += part
    return True


def _serve(connection, answer, context):
    try:
        connection.settimeout(10)
        if context:
            connection = context.wrap_socket(connection, server_side=True)
        if _read_head(connection):
            connection.sendall(answer)
    except OSError:
        pass  # The caller left, or does not trust this certificate: its own record says so.
    finally:
        connection.close()


def _listen(port, answer, context):
    listener = socket.create_server(("0.0.0.0", port), backlog=256)

    def accept():
        while True:
            connection, _ = listener.accept()
            threading.Thread(target=_serve, args=(connection, answer, context), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()


def main():
    workload, http_port, tls_port, health_port, certificate, key = sys.argv[1:]
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
    _listen(int(http_port), _answer(workload), None)
    _listen(int(tls_port), _answer(workload), context)
    _listen(int(health_port), _answer("healthy"), None)
    signal.pause()


if __name__ == "__main__":
    main()
