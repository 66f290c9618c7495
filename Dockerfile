# The image holds one static binary and nothing else: no shell, no package manager, no root user.
FROM rust:1.95-alpine AS build
RUN apk add --no-cache musl-dev
WORKDIR /source
COPY . .
RUN cargo build --release --locked -p webtroller

FROM scratch
LABEL org.opencontainers.image.source=https://github.com/webtroller/webtroller \
      org.opencontainers.image.licenses=Apache-2.0
COPY --from=build /source/target/release/webtroller /webtroller
USER 65532:65532
ENTRYPOINT ["/webtroller"]
