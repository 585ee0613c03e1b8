import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { findCommand, npmArguments } from '../src/find-command.ts'

const COMMAND = join(import.meta.dirname, '../src/command.ts')
let folder = ''
let empty = ''

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tenure-command-'))
  empty = await mkdtemp(join(tmpdir(), 'tenure-none-'))
  const cli = join(folder, 'node_modules/@tenure/cli')
  await mkdir(cli, { recursive: true })
  await writeFile(join(cli, 'package.json'), JSON.stringify({ name: '@tenure/cli', bin: { tenure: 'main.mjs' } }))
  await writeFile(join(cli, 'main.mjs'), 'console.log(JSON.stringify(process.argv.slice(2)))\nprocess.exitCode = 7\n')
})
afterAll(async () => {
  for (const each of [folder, empty]) await rm(each, { recursive: true, maxRetries: 5 })
})

test('npx tenure runs the command that the project has installed, with its arguments and its exit code', async () => {
  const args = ['--conditions=@tenure/source', COMMAND, 'status', '-A']
  const child = spawn(process.execPath, args, { cwd: folder })
  let out = ''
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => (out += chunk))
  expect(await once(child, 'close')).toEqual([7, null])
  expect(JSON.parse(out)).toEqual(['status', '-A'])
})

test('a package of that name without a command is passed over', async () => {
  const cli = join(empty, 'other/node_modules/@tenure/cli')
  await mkdir(cli, { recursive: true })
  for (const manifest of ['{}', '{"bin":{}}', '{"bin":{"tenure":"missing.mjs"}}']) {
    await writeFile(join(cli, 'package.json'), manifest)
    expect(findCommand([join(empty, 'other')])).toBeUndefined()
  }
})

test('npx tenure finds no command where none is installed, and then asks npm for its own version', () => {
  expect(findCommand([empty])).toBeUndefined()
  expect(findCommand([empty, folder])).toBe(join(folder, 'node_modules/@tenure/cli/main.mjs'))
  expect(npmArguments(['status', '-A'])).toEqual([
    'exec',
    '--yes',
    expect.stringMatching(/^--package=@tenure\/cli@\d+\.\d+\.\d+/),
    '--',
    'tenure',
    'status',
    '-A',
  ])
})
