# syntax=docker/dockerfile:1
# docker build -t forbear .
# docker run -p 127.0.0.1:8888:8888 -v "$PWD/proxy.config.yaml:/etc/forbear/proxy.config.yaml:ro" -v forbear:/data forbear
# Inside a container the proxy has to listen on 0.0.0.0, and off loopback it wants `clients` in its configuration.
ARG NODE_IMAGE=node:24-trixie-slim

FROM ${NODE_IMAGE} AS build
WORKDIR /app
COPY package.json package-lock.json ./
# Without scripts: the Node that the development dependency would fetch is already here.
RUN npm ci --ignore-scripts
COPY tsconfig.json tsconfig.build.json ./
COPY src src
RUN npm run build && npm prune --omit=dev --ignore-scripts

FROM ${NODE_IMAGE}
LABEL org.opencontainers.image.title="forbear" \
      org.opencontainers.image.description="A forward proxy that adds retry discipline in front of any scraper" \
      org.opencontainers.image.licenses="MIT"
ENV NODE_ENV=production \
    FORBEAR_HOME=/data \
    XDG_CACHE_HOME=/tmp
WORKDIR /app
COPY --from=build /app/package.json ./
COPY --from=build /app/node_modules node_modules
COPY --from=build /app/dist dist
COPY bin bin
RUN mkdir -p /data /etc/forbear && chown 1000:1000 /data && chmod 700 /data
USER 1000:1000
VOLUME /data
# A proxy.config.yaml in the working directory is read by itself.
WORKDIR /etc/forbear
EXPOSE 8888
# A request that is not for a proxy is answered with 400: the loop is alive.
HEALTHCHECK --interval=10s --timeout=3s CMD ["node", "-e", "fetch('http://127.0.0.1:8888/').then((r) => process.exit(r.status === 400 ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["node", "/app/bin/forbear.js"]
CMD ["start"]
