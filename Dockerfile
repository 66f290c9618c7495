# The image holds one static binary and the certificate authorities for `--image`: no shell, no package manager, no root user.
FROM rust:1.95-alpine AS build
RUN apk add --no-cache ca-certificates musl-dev
# The binary carries the list of its crates, from which scanners make the SBOM: there is nothing else in the image.
RUN cargo install --locked --version 0.7.7 cargo-auditable
WORKDIR /source
COPY . .
# The folder .git is not in the build: `docker build --build-arg COMMIT=$(git rev-parse --short=12 HEAD) .`
ARG COMMIT
# Packed, the table of relocations is 2 MB smaller. musl reads it so since 1.2.4, which Rust brings since 1.93.
RUN RUSTFLAGS="-C link-arg=-Wl,-z,pack-relative-relocs" WEBTROLLER_COMMIT="$COMMIT" cargo auditable build --release --locked -p webtroller

FROM scratch
LABEL org.opencontainers.image.source=https://github.com/webtroller/webtroller \
      org.opencontainers.image.licenses=Apache-2.0
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/
COPY --from=build /source/target/release/webtroller /webtroller
USER 65532:65532
ENTRYPOINT ["/webtroller"]
