// The provider of servers that proxies look after. It makes no call: a call waits until a proxy has reported how it ended.
// reconcile/proxy-work.ts gives the calls to proxies, and takes their reports.
import type { Answer } from '../model/call-result.ts';
import type { Call, PulledProvider } from './provider.ts';

/** Returns the provider. A call throws when its signal ends the wait; the proxy may carry it out all the same. */
export function createProxiedProvider(): PulledProvider {
  const calls = new Map<string, { readonly call: Call; readonly answer: (answer: Answer) => void }>();

  async function perform(call: Call, signal: AbortSignal): Promise<Answer> {
    signal.throwIfAborted();
    const { promise, resolve, reject } = Promise.withResolvers<Answer>();
    const stop = (): void => reject(signal.reason);
    signal.addEventListener('abort', stop, { once: true });
    calls.set(call.resource, { call, answer: resolve });
    try {
      return await promise;
    } finally {
      signal.removeEventListener('abort', stop);
      calls.delete(call.resource);
    }
  }

  return {
    lostActionEnds: 'after its deadline',
    isPulled: true,
    perform,
    callOf: (server) => calls.get(server)?.call,
    answer: (server, answer) => calls.get(server)?.answer(answer),
    close: () => Promise.resolve(),
  };
}
