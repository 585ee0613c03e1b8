/** One frame as recorded. */
export interface CallSiteData {
  readonly functionName: string
  readonly scriptName: string
  readonly lineNumber: number
  readonly columnNumber: number
}

/** A call site as V8 hands it to `Error.prepareStackTrace`, made of recorded data. */
export class ReplayedCallSite {
  readonly #site: CallSiteData

  constructor(site: CallSiteData) {
    this.#site = site
  }

  getThis(): undefined {}
  getFunction(): undefined {}
  getTypeName(): null {
    return null
  }
  getFunctionName(): string | null {
    return this.#site.functionName === '' ? null : this.#site.functionName
  }
  getMethodName(): null {
    return null
  }
  getFileName(): string {
    return this.#site.scriptName
  }
  getScriptNameOrSourceURL(): string {
    return this.#site.scriptName
  }
  getLineNumber(): number {
    return this.#site.lineNumber
  }
  getColumnNumber(): number {
    return this.#site.columnNumber
  }
  getEvalOrigin(): undefined {}
  getPromiseIndex(): null {
    return null
  }
  isToplevel(): boolean {
    return true
  }
  isEval(): boolean {
    return false
  }
  isNative(): boolean {
    return false
  }
  isConstructor(): boolean {
    return false
  }
  isAsync(): boolean {
    return false
  }
  isPromiseAll(): boolean {
    return false
  }
  toString(): string {
    const { functionName, scriptName, lineNumber, columnNumber } = this.#site
    const place = `${scriptName}:${lineNumber}:${columnNumber}`
    return functionName === '' ? place : `${functionName} (${place})`
  }
}
