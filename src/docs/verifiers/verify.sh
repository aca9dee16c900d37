#!/usr/bin/env bash
# Whether a delivery is genuine: exit status 0 if it is.
#   WEBHOOK_SECRET=whsec_… ./verify.sh "$X_SERVICE_SIGNATURE" < raw-body
set -euo pipefail

hmac() { openssl dgst -sha256 -hmac "$1" -r | cut -d ' ' -f 1; }

expected=$(hmac "$WEBHOOK_SECRET")
# Compared under a fresh key, so that the time it takes tells nothing.
key=$(openssl rand -hex 32)
[ "$(printf %s "${1:-}" | hmac "$key")" = "$(printf %s "$expected" | hmac "$key")" ]
