// The demo's treeline.yaml: written once, then the user's to change.
import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { loadSettings } from '../../load-settings.ts';
import type { Settings } from '../../settings.ts';

const TEXT = `# The demo's settings, as "treeline serve --config" reads them. Paths are relative to this file.
id: demo
api:
  host: 127.0.0.1
  port: 8443
  tls: { key: pki/server.key, cert: pki/server.crt, clientCa: pki/ca.crt }
management: { host: 127.0.0.1, port: 9080 }
repository:
  url: stacks.git
  branch: main
  pollSeconds: 30
store: { kind: lowdb, directory: state }
execution:
  providers:
    # Nothing real is made: servers are simulated, and remembered in state/simulated-demo.json.
    - { name: demo, provider: simulated, options: { createMs: 400, updateMs: 300, deleteMs: 200 } }
`;

/** Returns the demo's settings. Ports that are taken are replaced by free ones. */
export async function ensureSettings(folder: string): Promise<Settings> {
  const file = join(folder, 'treeline.yaml');
  if (!existsSync(file)) await writeFile(file, TEXT);
  const settings = await loadSettings(file);
  const { api, management } = settings;
  return {
    ...settings,
    api: { ...api, port: await freePort(api) },
    management: { ...management, port: await freePort(management) },
  };
}

/** Returns the port where it is free, else 0: any. */
async function freePort({ host, port }: { readonly host: string; readonly port: number }): Promise<number> {
  const probe = createServer();
  const { promise, resolve } = Promise.withResolvers<boolean>();
  probe.once('error', () => resolve(false));
  probe.listen(port, host, () => probe.close(() => resolve(true)));
  return (await promise) ? port : 0;
}
