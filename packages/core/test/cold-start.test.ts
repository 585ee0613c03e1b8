import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'

const PROGRAM = `await import('@tenure/core')
console.log(process.moduleLoadList.filter((name) => name.endsWith('undici/undici')).length)`

test("The import of the core does not load Node's undici, which costs every process 7 MB", async () => {
  const flags = ['--conditions=@tenure/source', '--input-type=module', '--eval', PROGRAM]
  const { stdout } = await promisify(execFile)(process.execPath, flags, { cwd: import.meta.dirname })
  expect(stdout.trim()).toBe('0')
})
