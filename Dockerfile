# syntax=docker/dockerfile:1
# A static binary and nothing else: no shell, no package manager, not root.

FROM --platform=$BUILDPLATFORM golang:1.26-bookworm AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN --mount=type=cache,target=/go/pkg/mod go mod download
COPY . .
ARG VERSION=dev TARGETOS=linux TARGETARCH
RUN --mount=type=cache,target=/go/pkg/mod --mount=type=cache,target=/root/.cache/go-build \
    CGO_ENABLED=0 GOOS=$TARGETOS GOARCH=$TARGETARCH \
    go build -trimpath -ldflags "-s -w -X main.version=$VERSION" -o /out/sayso ./cmd/sayso \
    && mkdir /out/data

FROM scratch
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/
COPY --from=build /usr/share/zoneinfo /usr/share/zoneinfo
COPY --from=build /out/sayso /usr/bin/sayso
# The one place that is written to: the admin socket, the local token and, without
# PostgreSQL, the database.
COPY --from=build --chown=65532:65532 --chmod=0700 /out/data /data
USER 65532:65532
ENV PATH=/usr/bin SAYSO_DATA=/data SAYSO_LISTEN=0.0.0.0:7788
VOLUME /data
EXPOSE 7788
# Off loopback the service wants TLS before it and to be told so: SAYSO_INSECURE_HTTP=true.
HEALTHCHECK --interval=10s --timeout=4s --start-period=30s --start-interval=1s --retries=3 CMD ["sayso", "ready"]
ENTRYPOINT ["sayso"]
CMD ["serve"]
