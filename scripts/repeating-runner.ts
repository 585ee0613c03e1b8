import { TestRunner } from 'vitest'

/** Runs every test `TENURE_REPEATS` times more, its hooks included; one failure fails it. */
// oxlint-disable-next-line import/no-default-export -- vitest asks for it
export default class RepeatingRunner extends TestRunner {
  override onBeforeRunTask(
    test: Parameters<TestRunner['onBeforeRunTask']>[0],
  ): ReturnType<TestRunner['onBeforeRunTask']> {
    test.repeats = Number(process.env['TENURE_REPEATS'] ?? 0)
    return super.onBeforeRunTask(test)
  }
}
