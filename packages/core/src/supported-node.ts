/*
 * Refuses a Node that is too old before any dependency is evaluated: undici, for one, dies there of an error that names neither
 * Node nor Tenure. Modules are evaluated in the order of their imports, so this one stands first in every entry point. Bun and
 * Deno report the version of Node that they are compatible with.
 */
const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
if (major < 22 || (major === 22 && minor < 19)) throw unsupportedNode()

function unsupportedNode(): Error {
  const error = new Error(
    `Tenure needs Node 22.19 or later, but this is Node ${process.versions.node}. Install a supported release: https://nodejs.org`,
  )
  // Where it was thrown helps nobody.
  error.stack = `Error: ${error.message}`
  return error
}

export {}
