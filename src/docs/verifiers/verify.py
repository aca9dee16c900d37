import hashlib
import hmac


def is_genuine(raw_body: bytes, signature: str | None, secret: str) -> bool:
    """Whether a delivery is genuine.

    raw_body: the bytes as they came, before any JSON parsing;
    signature: the header X-Service-Signature; secret: the signing secret, whsec_...
    """
    expected = hmac.new(secret.encode(), raw_body, hashlib.sha256).hexdigest()
    return hmac.compare_digest(expected.encode(), (signature or "").encode())
