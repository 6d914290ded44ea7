// Encodes a call as the JSON that programs and services receive, version 1. docs/providers.md describes it.
import type { Call } from './provider.ts';

/** The version of the JSON contract that every call names. */
const CONTRACT_VERSION = 1;

/** Returns a call as one line of JSON. */
export function encodeCall(call: Call): string {
  const { operation, action, resource, kind, properties, record, applied, outputs, deadline } = call;
  const facts = { operation, action, resource, kind, properties, record, applied, outputs, deadline };
  return `${JSON.stringify({ version: CONTRACT_VERSION, ...facts })}\n`;
}
