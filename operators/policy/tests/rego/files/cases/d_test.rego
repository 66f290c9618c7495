package cases_test

test_twice if true

test_twice if true

todo_test_later if false
