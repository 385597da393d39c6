#pragma once
#include <openssl/bio.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

/* BIO_get_mem_data is a macro over BIO_ctrl. The bytes belong to the BIO. */
static inline long copenssl_bio_contents(BIO *bio, char **bytes) {
    return BIO_get_mem_data(bio, bytes);
}

/* EVP_EC_gen is a macro over a variadic call. The caller owns the key. */
static inline EVP_PKEY *copenssl_generate_p256(void) {
    return EVP_EC_gen("P-256");
}
