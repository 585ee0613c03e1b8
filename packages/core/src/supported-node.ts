/*
 * Refuses a Node that is too old before any dependency is evaluated: on such a one undici dies of an error that names neither Node
 * nor Tenure. Modules are evaluated in the order of their imports, so this one stands first in every entry point. Bun and Deno
 * report the version of Node that they are compatible with; what reports none, such as a browser, is let through.
 */
const version: string | undefined = globalThis.process?.versions?.node
// Without a version `major` is NaN, which is neither below 22 nor equal to it.
const [major = 0, minor = 0] = (version ?? 'none').split('.').map(Number)
if (major < 22 || (major === 22 && minor < 19)) throw unsupportedNode()

function unsupportedNode(): Error {
  const error = new Error(
    `Tenure needs Node 22.19 or later, but this is Node ${version}. Install it from https://nodejs.org`,
  )
  // One line: where it was thrown helps nobody.
  error.stack = `Error: ${error.message}`
  return error
}
