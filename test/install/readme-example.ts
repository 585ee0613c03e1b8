import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { ROOT } from './tarballs.ts'

const README = readFileSync(join(ROOT, 'README.md'), 'utf8')

/** The program of the README, as it stands there. */
export function readmeExample(): string {
  const [, program] = /^## Example$.*?^```ts$(.*?)^```$/ms.exec(README) ?? []
  if (program === undefined) throw new Error('The README has no program under `## Example`')
  return program
}

/** What the README says to install for it. */
export function readmeInstall(): readonly string[] {
  const [, names] = /^npm install (.*?)(?: #.*)?$/m.exec(README) ?? []
  if (names === undefined) throw new Error('The README has no line that begins with `npm install`')
  return names.split(' ')
}
