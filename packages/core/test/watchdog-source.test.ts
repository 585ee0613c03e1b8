import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { watchdogModule } from '../../../scripts/inline-watchdog.ts'

test('The text that the watchdog thread is started from is what its source makes', async () => {
  const file = join(import.meta.dirname, '../src/watchdog/watchdog-worker-source.ts')
  expect(readFileSync(file, 'utf8'), 'run `node scripts/inline-watchdog.ts`').toBe(await watchdogModule())
})
