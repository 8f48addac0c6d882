"""Makes an RSA key of 2048 bits for tests: PKCS #1 in hexadecimal digits. Not for secrets: the numbers follow a seed."""

import random
import sys

numbers = random.Random(int(sys.argv[1]))


def is_prime(n):
    if any(n % small == 0 for small in (3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47)):
        return False
    odd, twos = n - 1, 0
    while odd % 2 == 0:
        odd, twos = odd // 2, twos + 1
    return all(passes(n, odd, twos) for _ in range(16))


def passes(n, odd, twos):
    x = pow(numbers.randrange(2, n - 1), odd, n)
    powers = (pow(x, 2**i, n) for i in range(twos))
    return x == 1 or any(power == n - 1 for power in powers)


def prime():
    while True:
        n = numbers.getrandbits(1024) | 3 << 1022 | 1
        if (n - 1) % 65537 and is_prime(n):
            return n


def length(n):
    digits = n.to_bytes((n.bit_length() + 7) // 8, "big")
    return bytes([n]) if n < 128 else bytes([128 | len(digits)]) + digits


def integer(n):
    digits = n.to_bytes(n.bit_length() // 8 + 1, "big")
    return b"\x02" + length(len(digits)) + digits


q, p = sorted((prime(), prime()))
e = 65537
d = pow(e, -1, (p - 1) * (q - 1))
body = b"".join(map(integer, (0, p * q, e, d, p, q, d % (p - 1), d % (q - 1), pow(q, -1, p))))
print((b"\x30" + length(len(body)) + body).hex())
