// Reads the status of all instances of a running controller over REST.
import type { HttpsClient } from './https-client.ts';

/** Returns the status of every instance, such as `shop: Done`, sorted, and the commit that the answer is of. */
export async function statusesOf({ request }: HttpsClient): Promise<{ commit: unknown; statuses: string[] }> {
  const { headers, body } = await request('/stacks/instances');
  if (!Array.isArray(body)) return { commit: undefined, statuses: [] };
  const names = body.map(({ name }: { readonly name: string }) => name);
  const replies = await Promise.all(names.map((name) => request(`/stacks/instances/${name}/status`)));
  const statuses = replies.map(({ body: status }, index) => `${names[index]}: ${status}`);
  return { commit: headers['x-treeline-commit'], statuses: statuses.sort() };
}
