"""Operations on rows: count, tally, recode, shuffle. One engine per place where rows can be stored."""
