# The image of the controller. docs/install.md says how to run it.

# Packs it: what `npm pack` ships is what the image holds.
FROM node:26-trixie-slim AS build
WORKDIR /build
COPY package.json package-lock.json .npmrc ./
RUN npm ci
COPY . .
RUN npm pack && mkdir /package && tar -xzf treeline-*.tgz -C /package --strip-components=1

# What it needs while it runs, in the versions of the lock file. None of these packages has an install script to run.
FROM node:26-trixie-slim AS dependencies
WORKDIR /dependencies
COPY package.json package-lock.json .npmrc ./
RUN npm ci --omit=dev --ignore-scripts

FROM node:26-trixie-slim
LABEL org.opencontainers.image.title="treeline" \
      org.opencontainers.image.description="A GitOps controller for infrastructure that is not Kubernetes" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="0.1.0"
# git reads repositories, openssh-client those over ssh, ca-certificates those over https. util-linux has setpriv.
RUN apt-get update \
 && apt-get install --yes --no-install-recommends ca-certificates git openssh-client util-linux \
 && rm -rf /var/lib/apt/lists/*
# Numbers, so that a volume's owner is known beforehand and `runAsNonRoot` can be checked.
RUN groupadd --gid 10001 treeline \
 && useradd --uid 10001 --gid 10001 --home-dir /var/lib/treeline --no-create-home --shell /usr/sbin/nologin treeline \
 && install -d -m 0755 /etc/treeline \
 && install -d -m 0700 -o treeline -g treeline /var/lib/treeline
COPY --from=build /package /opt/treeline
COPY --from=dependencies /dependencies/node_modules /opt/treeline/node_modules
RUN ln -s /opt/treeline/dist/src/cli.js /usr/local/bin/treeline
ENV NODE_ENV=production TMPDIR=/tmp
USER 10001:10001
WORKDIR /var/lib/treeline
# The only place that is written to, beside /tmp: the root file system may be read-only.
VOLUME /var/lib/treeline
EXPOSE 8443
HEALTHCHECK --interval=30s --timeout=5s --start-period=30s \
  CMD ["node", "-e", "fetch('http://127.0.0.1:9080/livez').then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
STOPSIGNAL SIGTERM
ENTRYPOINT ["treeline"]
CMD ["serve", "--config", "/etc/treeline/treeline.yaml"]
