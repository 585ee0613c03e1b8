import { createHash } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { cwd, env } from 'node:process'
import { afterAll, expect } from 'vitest'
import { REACHED, type Reached } from './reached.ts'

/*
 * A setup file: writes which functions of the sources a test file has run to the folder that `TENURE_REACHED` names.
 */
const folder = env['TENURE_REACHED'] ?? ''
const test = relative(cwd(), expect.getState().testPath ?? '')
const functions = new Set<string>()
Object.defineProperty(globalThis, REACHED, { value: functions })

afterAll(() => {
  const reached: Reached = { test, functions: [...functions] }
  writeFileSync(join(folder, `${createHash('sha256').update(test).digest('hex')}.json`), JSON.stringify(reached))
})
