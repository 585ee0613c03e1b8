import { join } from 'node:path'
import process from 'node:process'
import { createVitest, type TestModule } from 'vitest/node'
import type { ChangedFile } from '../mutants/changed-file.ts'
import type { Answer, Request } from './test-process.ts'

/*
 * The program of a `TestProcess`: runs one test file for each message, with the change that the message names, if any. The modules that
 * no change touches stay loaded and transformed in the test runner; each test file still has a worker of its own.
 */
const root = process.cwd()
let changed: ChangedFile | undefined

const vitest = await createVitest(
  'test',
  { config: 'test/mutants/vitest.config.ts', watch: false, reporters: [{}] },
  {
    plugins: [
      {
        name: 'changed-file',
        enforce: 'pre',
        transform: (_, id) => (id.split('?')[0] === join(root, changed?.file ?? '') ? changed?.code : undefined),
      },
    ],
  },
)

process.on('message', (request: Request) => {
  void run(request).then((answer) => process.send?.(answer))
})
process.once('disconnect', () => process.exit())

async function run(request: Request): Promise<Answer> {
  const before = changed
  changed = request.changed
  for (const file of new Set([before?.file, changed?.file])) {
    if (file !== undefined) vitest.invalidateFile(join(root, file))
  }
  const specification = vitest.getRootProject().createSpecification(join(root, request.test))
  const { testModules, unhandledErrors } = await vitest.rerunTestSpecifications([specification])
  const module = testModules.find(({ moduleId }) => moduleId === specification.moduleId)
  const failure = failureOf(module) ?? (unhandledErrors.length > 0 ? 'an error outside of the tests' : undefined)
  return failure === undefined ? {} : { failure }
}

function failureOf(module: TestModule | undefined): string | undefined {
  if (module === undefined) return 'a test file that did not run'
  if (module.ok()) return undefined
  const [failed] = [...module.children.allTests('failed')]
  if (failed !== undefined) return `"${failed.fullName}"`
  const [error] = module.errors()
  return `a test file that cannot be loaded: ${error?.message.split('\n')[0]}`
}
