import { cp, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect, test } from 'vitest'
import { defaultUserAgent } from '../src/client/user-agent.ts'

test('the user agent names the version', () => {
  expect(defaultUserAgent()).toMatch(/^tenure\/\d+\.\d+\.\d+\S* leader-election$/)
})

test('the user agent of a program that was bundled, without the package beside it, does not know it', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'tenure-user-agent-'))
  try {
    const bundle = join(folder, 'bundle')
    for (const name of ['client/user-agent.ts', 'json-object.ts']) {
      await cp(new URL(`../src/${name}`, import.meta.url), join(bundle, name))
    }
    await writeFile(join(bundle, 'package.json'), '{"type":"module"}')
    const { href } = pathToFileURL(join(bundle, 'client', 'user-agent.ts'))
    const bundled = (await import(/* @vite-ignore */ href)) as { readonly defaultUserAgent: () => string }
    expect(bundled.defaultUserAgent()).toBe('tenure/unknown leader-election')
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
})
