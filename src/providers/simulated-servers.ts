// The servers that the simulated provider made, in a file of JSON lines: one line a change, so that a killed controller
// loses none. At every start the file is written anew with one line a server.
import {
  closeSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { isMap } from '../model/json.ts';
import type { Properties } from '../model/objects.ts';

/** Actions remembered for each server. */
const ACTIONS_MAX = 100;
const FILE_BYTES_MAX = 256 * 1024 * 1024;

interface Server {
  /** Null: it is gone, and only its actions are remembered. */
  readonly properties: Properties | null;
  readonly actions: readonly string[];
}

export class SimulatedServers {
  readonly #file: string;
  readonly #servers: Map<string, Server>;
  #descriptor: number | undefined;
  #length: number;

  /** Reads the file, or starts with none. Throws where a line other than the last one is damaged. */
  constructor(file: string) {
    this.#file = file;
    mkdirSync(dirname(file), { recursive: true });
    this.#servers = replay(file);
    for (const [name, { properties }] of this.#servers) if (properties === null) this.#servers.delete(name);
    const text = [...this.#servers].map(([name, server]) => lineOf(name, server)).join('');
    writeFileSync(`${file}.new`, text, { mode: 0o600 });
    renameSync(`${file}.new`, file);
    this.#descriptor = openSync(file, 'a');
    this.#length = Buffer.byteLength(text);
  }

  /** Returns what a server has, or undefined where there is none. */
  find(name: string): Properties | undefined {
    return this.#servers.get(name)?.properties ?? undefined;
  }

  /** Tells whether an action has changed this server before. */
  hasSeen(name: string, action: string): boolean {
    return this.#servers.get(name)?.actions.includes(action) ?? false;
  }

  /** Makes, changes or (with null) removes a server. Where it throws, nothing has changed. */
  change(name: string, { action, properties }: { action: string; properties: Properties | null }): void {
    this.#append(Buffer.from(lineOf(name, { properties, actions: [action] })));
    this.#servers.set(name, joined(this.#servers.get(name), { properties, actions: [action] }));
  }

  close(): void {
    if (this.#descriptor !== undefined) closeSync(this.#descriptor);
    this.#descriptor = undefined;
  }

  #append(line: Buffer): void {
    if (this.#descriptor === undefined) throw new Error(`the simulated provider of ${this.#file} is closed`);
    if (this.#length + line.length > FILE_BYTES_MAX) {
      throw new Error(`${this.#file} has reached ${FILE_BYTES_MAX} bytes; a restart makes it smaller`);
    }
    try {
      for (let written = 0; written < line.length; ) written += writeSync(this.#descriptor, line, written);
    } catch (error) {
      // Half a line would spoil the next one.
      ftruncateSync(this.#descriptor, this.#length);
      throw error;
    }
    this.#length += line.length;
  }
}

function replay(file: string): Map<string, Server> {
  const servers = new Map<string, Server>();
  const lines = readText(file).split('\n');
  // What follows the last line break was never finished.
  for (const [index, line] of lines.slice(0, -1).entries()) {
    const { name, server } = parseLine(line) ?? refuse(file, { line: index + 1, text: line });
    servers.set(name, joined(servers.get(name), server));
  }
  return servers;
}

function readText(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return '';
    throw error;
  }
}

function parseLine(line: string): { name: string; server: Server } | undefined {
  const value = parseJson(line);
  if (!isMap(value)) return undefined;
  const { name, properties, actions } = value;
  if (typeof name !== 'string' || !(properties === null || isProperties(properties)) || !isTexts(actions))
    return undefined;
  return { name, server: { properties, actions } };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function isProperties(value: unknown): value is Properties {
  return isMap(value) && Object.values(value).every((property) => typeof property === 'string' || isTexts(property));
}

function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((item) => typeof item === 'string');
}

function refuse(file: string, { line, text }: { line: number; text: string }): never {
  throw new Error(
    `${file}:${line}: is no line of the simulated provider: ${JSON.stringify(text.slice(0, 80))}. Restore the file, or ` +
      'delete it to start with no servers.',
  );
}

function joined(before: Server | undefined, { properties, actions }: Server): Server {
  return { properties, actions: [...(before?.actions ?? []), ...actions].slice(-ACTIONS_MAX) };
}

function lineOf(name: string, { properties, actions }: Server): string {
  return `${JSON.stringify({ name, properties, actions })}\n`;
}
