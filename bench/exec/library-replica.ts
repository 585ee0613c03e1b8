/** A replica that uses the library. It prints a line as soon as its work begins. */
import { writeSync } from 'node:fs'
import { lead } from 'tenure'

const [identity = '', name = '', namespace = ''] = process.argv.slice(2)

await lead({ identity, lease: { name, namespace }, ops: false, logLevel: 'silent', argv: [] }, async (term) => {
  writeSync(1, 'began\n')
  await term.every(60_000, () => {})
})
