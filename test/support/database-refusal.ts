// Opens a database that cannot be used, and returns what the operator reads.
import { expect } from 'vitest';
import type { DatabaseOptions } from '../../src/store/postgres/connection.ts';
import { openPostgresStore } from '../../src/store/postgres/postgres-adapter.ts';
import { StoreError } from '../../src/store/store-error.ts';

/** Returns the message with which a store cannot be opened; it has no password, and no stack. */
export async function refusal(
  options: DatabaseOptions,
  opening: (options: DatabaseOptions) => Promise<unknown> = openPostgresStore,
): Promise<string> {
  const limits = { connectMs: 5_000, pauseMs: 20 };
  const error: unknown = await opening({ ...options, limits }).catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(StoreError);
  const { message } = error as StoreError;
  expect(message).not.toMatch(/cret|\n|\bat .*:\d+:\d+/);
  return message;
}
