// Registers a proxy at a site and writes its settings.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { issueClientCertificate } from '../../src/base/development-pki.ts';
import type { Site } from './site-on-disk.ts';

interface ProxyPlace {
  readonly site: Site;
  readonly port: number;
  readonly concurrency: number;
  /** Of the servers that it makes; none: of servers without a tag. */
  readonly tags: readonly string[];
  /** The keys of its provider entry, in flow style. */
  readonly entry: string;
}

/** Registers a proxy and returns the path of its settings. */
export async function registerProxy(
  name: string,
  { site, port, concurrency, tags, entry }: ProxyPlace,
): Promise<string> {
  const folder = join(site.folder, name);
  mkdirSync(folder, { mode: 0o700 });
  const authority = {
    cert: readFileSync(join(site.folder, 'pki/ca.crt'), 'utf8'),
    key: readFileSync(join(site.folder, 'pki/ca.key'), 'utf8'),
  };
  const { key, cert, serial } = await issueClientCertificate(authority, { commonName: name, now: Date.now() });
  writeFileSync(join(folder, 'proxy.key'), key, { mode: 0o600 });
  writeFileSync(join(folder, 'proxy.crt'), cert);
  await site.repository.commit({ [`clients/${serial}.yaml`]: `role: proxy\ntags: [${tags}]\n` });
  const config = join(folder, 'proxy.yaml');
  writeFileSync(
    config,
    `server: https://127.0.0.1:${port}
tls: { cert: proxy.crt, key: proxy.key, ca: ../pki/ca.crt }
directory: state
concurrency: ${concurrency}
providers:
  - { ${entry} }
`,
  );
  return config;
}
