"""Certificates and tokens of the lab, made with openssl: those of a young CA, and of its successor.

A rotation makes everything anew by another CA under the same names. What was signed by the old one
is then refused by whoever has read the new one.
"""

import base64
import json
import os
import subprocess
import time

ISSUER = "https://kubernetes.lab.test"
LEEWAY_SECONDS = 60  # that the API server gives every token (go-jose, jwt.DefaultLeeway)


def _openssl(*arguments, data=None):
    done = subprocess.run(["openssl", *arguments], input=data, capture_output=True)
    if done.returncode != 0:
        raise RuntimeError(f"openssl {arguments[0]}: {done.stderr.decode().strip()}")
    return done.stdout


def _new_key(path):
    _openssl("genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out", path)


class Authority:
    """A CA, and what it signed: NAME.crt and NAME.key in its folder."""

    def __init__(self, folder, name):
        self.folder = folder
        os.makedirs(folder)
        self.certificate = self.path("ca.crt")
        self._key = self.path("ca.key")
        _new_key(self._key)
        _openssl(
            *("req", "-x509", "-new", "-key", self._key, "-days", "2", "-subj", f"/CN={name}"),
            *("-addext", "keyUsage=critical,keyCertSign,digitalSignature"),
            *("-out", self.certificate),
        )

    def path(self, name):
        return os.path.join(self.folder, name)

    def sign(self, name, subject, addresses=()):
        """Paths of the certificate and the key. With addresses: a server's, else a client's."""
        certificate, key = self.path(name + ".crt"), self.path(name + ".key")
        _new_key(key)
        extensions = self.path(name + ".ext")
        with open(extensions, "w", encoding="utf-8") as file:
            file.write(f"extendedKeyUsage={'serverAuth' if addresses else 'clientAuth'}\n")
            if addresses:
                names = ",".join(f"IP:{address}" for address in addresses)
                file.write(f"subjectAltName={names}\n")
        request = _openssl("req", "-new", "-key", key, "-subj", subject)
        _openssl(
            *("x509", "-req", "-CA", self.certificate, "-CAkey", self._key, "-days", "2"),
            *("-extfile", extensions, "-out", certificate),
            data=request,
        )
        return certificate, key


class TokenSigner:
    """Tokens of service accounts, as the API server itself makes them, but of any lifetime."""

    def __init__(self, folder):
        self.key = os.path.join(folder, "service-accounts.key")
        self.public_key = os.path.join(folder, "service-accounts.pub")
        _openssl(
            "genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out", self.key
        )
        _openssl("pkey", "-in", self.key, "-pubout", "-out", self.public_key)

    def sign(self, namespace, name, uid, seconds):
        """The server accepts it for so many seconds."""
        now = int(time.time())
        issued, expires = now - 2 * LEEWAY_SECONDS, now + seconds - LEEWAY_SECONDS
        claims = {
            "iss": ISSUER,
            "aud": [ISSUER],
            "iat": issued,
            "nbf": issued,
            "exp": expires,
            "sub": f"system:serviceaccount:{namespace}:{name}",
            "kubernetes.io": {"namespace": namespace, "serviceaccount": {"name": name, "uid": uid}},
        }
        text = ".".join(_encoded(json.dumps(part).encode()) for part in (_HEADER, claims))
        signature = _raw_signature(
            _openssl("dgst", "-sha256", "-sign", self.key, data=text.encode())
        )
        return f"{text}.{_encoded(signature)}"


_HEADER = {"alg": "ES256", "typ": "JWT"}


def _encoded(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def _raw_signature(der):
    """The two numbers of an ECDSA signature, 32 bytes each, as a JWT wants them (RFC 7518)."""
    out, at = b"", 2
    for _ in range(2):
        length = der[at + 1]
        out += der[at + 2 : at + 2 + length].lstrip(b"\0").rjust(32, b"\0")
        at += 2 + length
    return out
