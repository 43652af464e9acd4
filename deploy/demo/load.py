"""The application in the client pod: steady calls on both paths. Runs as a program of its own.

It knows the service's cluster IP alone; what happens behind it is its sidecar's business. Each
call is one line of JSON on standard output: when it began (CLOCK_BOOTTIME), how long it took, who
answered, or how it ended otherwise. SIGTERM stops new calls; those under way end by themselves.

Usage: load.py HTTP_IP:PORT TLS_IP:PORT SERVER_NAME CA_FILE CALLS_PER_SECOND
"""

import concurrent.futures
import json
import os
import signal
import socket
import ssl
import sys
import time

PATIENCE = 3.0  # seconds that a caller waits
HASTY_PATIENCE = 0.6  # of every fourth TLS caller: it leaves before the sidecar's connect timeout


def _receive_all(connection):
    data = b""
    while part := connection.recv(65536):
        data += part
    return data


def _outcome_of(data):
    head, _, body = data.partition(b"\r\n\r\n")
    if not head:
        return {"end": "closed without an answer"}
    status = head.split(b" ", 2)[1].decode()
    if status != "200":
        return {"end": status}
    return {"end": "ok", "who": body.decode()}


def call_http(address, host):
    with socket.create_connection(address, PATIENCE) as connection:
        connection.sendall(
            f"GET /items HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n".encode()
        )
        return _outcome_of(_receive_all(connection))


def call_tls(address, host, context, patience):
    with socket.create_connection(address, patience) as plain:
        with context.wrap_socket(plain, server_hostname=host) as connection:
            connection.sendall(f"GET /items HTTP/1.1\r\nhost: {host}\r\n\r\n".encode())
            return _outcome_of(_receive_all(connection))


def _end_of(error, patience):
    if isinstance(error, ssl.SSLCertVerificationError):
        return "wrong certificate"
    if isinstance(error, TimeoutError):
        return f"gave up after {patience:g} s"
    if isinstance(error, ConnectionResetError):
        return "reset"
    if isinstance(error, (ssl.SSLEOFError, ssl.SSLZeroReturnError)):
        return "closed in the TLS handshake"
    return type(error).__name__


def _timed(path, call, patience):
    record = {"path": path, "began_ns": time.clock_gettime_ns(time.CLOCK_BOOTTIME)}
    try:
        record.update(call())
    except OSError as error:
        record["end"] = _end_of(error, patience)
    took = time.clock_gettime_ns(time.CLOCK_BOOTTIME) - record["began_ns"]
    record["ms"] = round(took / 1e6, 1)
    os.write(1, (json.dumps(record) + "\n").encode())


def _address(text):
    ip, _, port = text.rpartition(":")
    return ip, int(port)


def main():
    http, tls, host, ca_file, rate = sys.argv[1:]
    http, tls, interval = _address(http), _address(tls), 1.0 / float(rate)
    context = ssl.create_default_context(cafile=ca_file)
    going = True

    def stop(*_):
        nonlocal going
        going = False

    signal.signal(signal.SIGTERM, stop)
    calls = 0
    due = time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(256) as pool:
        while going:
            patience = HASTY_PATIENCE if calls % 4 == 3 else PATIENCE
            pool.submit(_timed, "http", lambda: call_http(http, host), PATIENCE)
            pool.submit(_timed, "tls", lambda p=patience: call_tls(tls, host, context, p), patience)
            calls += 1
            due += interval
            time.sleep(max(0.0, due - time.monotonic()))


if __name__ == "__main__":
    main()
