import { afterEach, describe, expect, test, vi } from 'vitest'

afterEach(() => {
  vi.unstubAllGlobals()
  vi.resetModules()
})

/** A process that reports these versions. */
const processWith = (versions: object | undefined): object =>
  Object.create(process, { versions: { value: versions } }) as object

/** Imports the check on a platform that has this process. */
async function checkWith(given: object | undefined): Promise<void> {
  vi.stubGlobal('process', given)
  vi.resetModules()
  await import('../src/supported-node.ts')
}

const checkOn = (node: string): Promise<void> => checkWith(processWith({ node }))

describe('The check of Node', () => {
  test.each(['20.19.0', '21.20.0', '22.0.0', '22.18.9'])(
    'refuses %s in one line that says what to do',
    async (version) => {
      const message = `Tenure needs Node 22.19 or later, but this is Node ${version}. Install it from https://nodejs.org`
      await expect(checkOn(version)).rejects.toMatchObject({ message, stack: `Error: ${message}` })
    },
  )

  test.each(['22.19.0', '22.20.1', '23.0.0', '24.0.0'])('accepts %s', async (version) => {
    await expect(checkOn(version)).resolves.toBeUndefined()
  })

  test('accepts a platform that reports no version of Node', async () => {
    for (const given of [processWith({}), processWith(undefined), undefined]) {
      await expect(checkWith(given)).resolves.toBeUndefined()
      vi.unstubAllGlobals()
    }
  })
})
