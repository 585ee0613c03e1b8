/** Removes the connection options from an error and its causes: a SOCKS client puts the password of the proxy there. */
export function withoutOptions<T>(error: T): T {
  for (let at: unknown = error; at instanceof Error; at = at.cause) Reflect.deleteProperty(at, 'options')
  return error
}
