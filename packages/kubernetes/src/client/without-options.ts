/** Takes what a connection was made with out of its errors: a SOCKS client puts the password of the proxy there. */
export function withoutOptions<T>(error: T): T {
  for (let at: unknown = error; at instanceof Error; at = at.cause) Reflect.deleteProperty(at, 'options')
  return error
}
