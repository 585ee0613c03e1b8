import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { rolldown } from 'rolldown'
import { format, resolveConfig } from 'prettier'

/*
 * Writes `watchdog-worker-source.ts`: the watchdog thread as one text, from which it is started. A worker that is a file of its own
 * is not found once a program is bundled. Run this after every change to the thread; a unit test compares.
 */
const FOLDER = join(import.meta.dirname, '../packages/core/src/watchdog')
const TARGET = join(FOLDER, 'watchdog-worker-source.ts')

/** The module that holds the thread as a text. */
export async function watchdogModule(): Promise<string> {
  await using bundle = await rolldown({ input: join(FOLDER, 'watchdog-worker.ts'), platform: 'node' })
  const { output } = await bundle.generate({ format: 'esm', comments: false })
  const [{ code }] = output
  const text = [
    '/** `watchdog-worker.ts` and all that it imports, as JavaScript. Written by `scripts/inline-watchdog.ts`. */',
    `export const WATCHDOG_WORKER_SOURCE = ${templateOf(code)}`,
  ].join('\n')
  return format(text, { ...(await resolveConfig(TARGET)), parser: 'typescript' })
}

function templateOf(code: string): string {
  return `\`\n${code.replaceAll(/[`\\]|\$\{/g, (special) => `\\${special}`)}\``
}

if (import.meta.main) writeFileSync(TARGET, await watchdogModule())
