// `treeline provider test`: tests a provider on servers that it creates. docs/providers.md has the contract.
import { randomUUID } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Command, InvalidArgumentError } from 'commander';
import { systemClock } from '../base/clock.ts';
import { createLog } from '../base/log.ts';
import { countOf } from '../base/wording.ts';
import { emptyMap } from '../model/json.ts';
import { SERVER } from '../model/names.ts';
import { ProgramRunner } from '../programs/program-runner.ts';
import { askProgram } from '../providers/exec/exec-provider.ts';
import { askService, type HttpOptions } from '../providers/http/http-provider.ts';
import { findProgram, programFault, serviceFault } from '../settings/load-providers.ts';
import { CommandFailure } from './command-failure.ts';
import { type CaseResult, runCases } from './conformance/cases.ts';
import { type Send, Trial } from './conformance/trial.ts';
import { type Format, formatOption, print, printAs, SECONDS_MAX, wholeNumber } from './output.ts';
import { fromUserDirectory } from './user-directory.ts';

interface TestOptions {
  readonly kind: string;
  readonly property?: Readonly<Record<string, string>>;
  readonly change?: Readonly<Record<string, string>>;
  readonly environment?: Readonly<Record<string, string>>;
  readonly directory: string;
  readonly url?: string;
  readonly secretFile?: string;
  readonly caFile?: string;
  readonly timeout: number;
  readonly format: Format;
}

interface Target {
  /** In the form in which a user would write it. */
  readonly name: string;
  readonly send: Send;
  readonly forged?: Send;
}

const EXIT_DEVIATIONS = 1;
const TIMEOUT_SECONDS = 60;

/** Adds the command. Exit code 0: the provider keeps the contract; 1: it violates the contract; 3: could not run. */
export function addProviderCommand(program: Command): void {
  const provider = program.command('provider').description('help authors of providers');
  provider
    .command('test')
    .description('test a provider on servers that it makes and deletes')
    .argument('[command...]', 'the program and its arguments, after --')
    .option('--property <name=value>', 'a property of the servers; repeat for several', addPair)
    .option('--change <name=value>', 'a property that the update changes; repeat for several', addPair)
    .option('--kind <kind>', 'the kind of the servers', SERVER)
    .option('--environment <name=value>', 'a variable of the program; repeat for several', addPair)
    .option('--directory <directory>', 'where the program runs', '.')
    .option('--url <url>', 'the service to test, instead of a program')
    .option('--secret-file <file>', 'the secret that signs its requests')
    .option('--ca-file <file>', 'the certificate authorities that it may come from, PEM')
    .option('--timeout <seconds>', 'how long one call may take', wholeNumber(1, SECONDS_MAX), TIMEOUT_SECONDS)
    .addOption(formatOption())
    .addHelpText(
      'after',
      '\nExit code 0: it keeps the contract, 1: it does not, 3: could not run. See docs/providers.md.',
    )
    .action(async (command: readonly string[], options: TestOptions) => {
      const folder = await mkdtemp(join(tmpdir(), 'treeline-provider-test-'));
      const place = { options, folder };
      const open = options.url === undefined ? openProgram : openService;
      try {
        process.exitCode = await test(await open(command, place), place);
      } finally {
        await rm(folder, { recursive: true, force: true });
      }
    });
}

interface Place {
  readonly options: TestOptions;
  /** A directory for this run. */
  readonly folder: string;
}

async function test(target: Target, { options, folder }: Place): Promise<number> {
  const interrupted = new AbortController();
  const { kind, property = {}, change = { treeline_test: 'changed' }, timeout, format } = options;
  const trial = new Trial({
    send: target.send,
    forged: target.forged,
    kind,
    properties: property,
    change,
    timeoutMs: timeout * 1000,
    trap: join(folder, 'trap'),
    interrupted: interrupted.signal,
  });
  const left = `interrupted: servers named ${trial.prefix}-… may be left; remove them by hand`;
  const interrupt = (): void => interrupted.abort(new CommandFailure(left));
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, interrupt);
  try {
    if (format === 'text') {
      const names = ['name', ...Object.keys(property)].join(', ');
      print(`Testing the provider: ${target.name}`);
      print(
        `It makes servers of the kind ${kind} named ${trial.prefix}-…, with the properties ${names}, and deletes them.\n`,
      );
    }
    const { cases, left } = await runCases(trial, (each) => format === 'text' && printCase(each));
    const passed = cases.filter(({ result }) => result === 'passed').length;
    printAs(format, { provider: target.name, servers: trial.prefix, cases, left }, () =>
      [
        `\n${passed} of ${countOf(cases.length, 'case')} passed, ${cases.length - passed} failed.`,
        left.length > 0
          ? `These servers may still exist; remove them by hand: ${left.join(', ')}`
          : 'Nothing is left of its servers.',
      ].join('\n'),
    );
    return left.length === 0 && passed === cases.length ? 0 : EXIT_DEVIATIONS;
  } finally {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.removeListener(signal, interrupt);
  }
}

const TITLE_WIDTH = 78;

function printCase({ title, result, message, ms }: CaseResult): void {
  print(
    `${result === 'passed' ? 'ok  ' : 'FAIL'}  ${title.padEnd(TITLE_WIDTH)} ${(ms / 1000).toFixed(1).padStart(6)} s`,
  );
  if (message !== '') print(message.replaceAll(/^/gm, '      '));
}

async function openProgram([program = '', ...args]: readonly string[], { options, folder }: Place): Promise<Target> {
  if (program === '') throw new CommandFailure('name the program after "--": treeline provider test -- ./lab-server');
  const base = fromUserDirectory('.');
  const path = await findProgram(program, { base, searchPath: process.env.PATH });
  const fault = await programFault(path);
  if (fault !== undefined) throw new CommandFailure(`${fault.message}; ${fault.hint}`);
  const log = createLog('silent');
  const runner = await ProgramRunner.open(join(folder, 'running'), log);
  const directory = fromUserDirectory(options.directory);
  const command = [path, ...args] as const;
  return {
    name: [program, ...args].join(' '),
    send: (input, signal) =>
      askProgram(input, {
        command,
        directory,
        environment: options.environment ?? {},
        runner,
        log,
        signal,
        about: {},
      }),
  };
}

async function openService(command: readonly string[], { options, folder }: Place): Promise<Target> {
  const { url = '', secretFile, caFile } = options;
  if (command.length > 0) throw new CommandFailure('name a program, or a service by --url, not both');
  if (secretFile === undefined) throw new CommandFailure('name the secret that signs requests: --secret-file FILE');
  const fault = serviceFault(url);
  if (url === '' || fault !== undefined) throw new CommandFailure(`--url: ${fault?.message ?? 'it is empty'}`);
  const another = join(folder, 'another-secret');
  await writeFile(another, randomUUID(), { mode: 0o600 });
  const service = {
    url,
    secretFile: fromUserDirectory(secretFile),
    clock: systemClock,
    caFile: caFile === undefined ? null : fromUserDirectory(caFile),
  };
  const sendWith = (change: Partial<HttpOptions>): Send => {
    return (input, signal) => askService(input, { ...service, ...change }, signal);
  };
  return {
    name: url,
    send: sendWith({}),
    forged: sendWith({ secretFile: another }),
  };
}

function addPair(text: string, pairs?: Record<string, string>): Record<string, string> {
  const at = text.indexOf('=');
  if (at < 1) throw new InvalidArgumentError('write NAME=VALUE');
  const all = Object.assign(emptyMap<string>(), pairs);
  all[text.slice(0, at)] = text.slice(at + 1);
  return all;
}
