/** An error of this package. `code` is for programs and `message` for people. */
export class SamovarError extends Error {
  override readonly name = "SamovarError";
  constructor(
    readonly code: string,
    message: string,
    options?: { cause?: unknown },
  ) {
    super(message, options);
  }
}
