const { stripTypeScriptTypes } = require('node:module')

/** A transform of jest: Node itself knows how to take the types out. */
module.exports = { process: (source) => ({ code: stripTypeScriptTypes(source) }) }
