// Defines the addresses of objects, which commits, units and rows share. docs/rest.md lists the types.

/** Returns the address of an object: `<type>/<name>`. Names contain no slash. */
export function addressOf<Type extends string>(type: Type, name: string): `${Type}/${string}` {
  return `${type}/${name}`;
}

/** Returns the address of a stack instance. */
export function instanceAddress(name: string): string {
  return addressOf('stack-instance', name);
}

/** Returns the type and the name of an address. */
export function splitAddress(address: string): [type: string, name: string] {
  const at = address.indexOf('/');
  return [address.slice(0, at), address.slice(at + 1)];
}

/** Returns the name at an address. */
export function nameAt(address: string): string {
  return splitAddress(address)[1];
}
