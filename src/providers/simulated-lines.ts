// The lines in which simulated-servers.ts stores servers: one JSON object for each change of a server.
import { readFileSync } from 'node:fs';
import { isMap, parseJson } from '../model/json.ts';
import type { Properties } from '../model/objects.ts';

const NEWLINE = 10;

/** A server as the file remembers it. */
export interface SimulatedServer {
  /** Null: the server is removed, and only its actions are remembered. */
  readonly properties: Properties | null;
  readonly actions: readonly string[];
}

interface Line {
  readonly name: string;
  readonly server: SimulatedServer;
}

/** Returns the line of a server, with its line break. */
export function serverLine(name: string, { properties, actions }: SimulatedServer): string {
  return `${JSON.stringify({ name, properties, actions })}\n`;
}

/**
 * Yields the lines of a file, each with the byte at which it ends; none if there is no file. Text after the last line break
 * was never finished. Throws if a line is damaged.
 */
export function* serverLines(file: string): Generator<Line & { readonly end: number }> {
  const bytes = readBytes(file);
  let start = 0;
  for (let line = 1; ; line += 1) {
    const end = bytes.indexOf(NEWLINE, start);
    if (end === -1) return;
    const text = bytes.toString('utf8', start, end);
    start = end + 1;
    yield { ...(parseLine(text) ?? refuse(file, { line, text })), end: start };
  }
}

function readBytes(file: string): Buffer {
  try {
    return readFileSync(file);
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return Buffer.alloc(0);
    throw error;
  }
}

function parseLine(line: string): Line | undefined {
  const value = parseJson(line);
  if (!isMap(value)) return undefined;
  const { name, properties, actions } = value;
  if (typeof name !== 'string' || !(properties === null || isProperties(properties)) || !isTexts(actions))
    return undefined;
  return { name, server: { properties, actions } };
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
