// `treeline status`: how far the stacks of a running controller are.
import type { Command } from 'commander';
import type { InstanceView } from '../service/reader.ts';
import { type Format, formatOption, print, printJson } from './output.ts';
import { addServerOptions, getFrom, type ServerOptions } from './server-connection.ts';

type Options = ServerOptions & { readonly format: Format };

/** Adds the command. */
export function addStatusCommand(program: Command): void {
  const command = program
    .command('status')
    .description('show the status of every instance of a running controller, or of the servers of one')
    .argument('[instance]', 'show its servers')
    .addOption(formatOption());
  addServerOptions(command).action(async (instance: string | undefined, options: Options) => {
    if (instance === undefined) await showInstances(options);
    else await showServers(instance, options);
  });
}

async function showInstances(options: Options): Promise<void> {
  const instances = (await getFrom(options, '/stacks/instances')) as readonly InstanceView[];
  const rows = await Promise.all(
    instances.map(async ({ name }) => {
      return { name, status: await getFrom(options, `/stacks/instances/${encodeURIComponent(name)}/status`) };
    }),
  );
  if (options.format === 'json') printJson(rows);
  else for (const { name, status } of rows) print(`${name}: ${status}`);
}

async function showServers(instance: string, options: Options): Promise<void> {
  const path = `/stacks/instances/${encodeURIComponent(instance)}/status/full`;
  const resources = (await getFrom(options, path)) as InstanceView['resources'];
  if (options.format === 'json') {
    printJson(resources);
    return;
  }
  for (const [key, servers] of Object.entries(resources)) {
    for (const [server, { state }] of Object.entries(servers)) print(`${key}  ${server}: ${state}`);
  }
}
