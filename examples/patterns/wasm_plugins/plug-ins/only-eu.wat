;; A plug-in in WebAssembly's text form: it does not read the question, and always gives the same answer.
(module
  (memory (export "memory") 2)
  (data (i32.const 16) "{\"zones\": [\"eu-1\", \"eu-2\"]}")
  (func (export "abi_version") (result i32) (i32.const 1))
  ;; The question goes to the second page; there is never more than one.
  (func (export "allocate") (param i32) (result i32) (i32.const 65536))
  (func (export "rank") (param i32 i32) (result i64)
    (i64.or (i64.shl (i64.const 16) (i64.const 32)) (i64.const 27))))
